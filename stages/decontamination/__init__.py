"""No document may give away an evaluation set."""
