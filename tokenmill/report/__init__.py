"""What people see of a run: the funnel as text, the page, its charts."""
