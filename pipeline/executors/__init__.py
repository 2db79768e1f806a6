"""Executors run tasks and know nothing else; an executor is one function from tasks to results (`contract.Executor`)."""
