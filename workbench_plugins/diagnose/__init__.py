"""Why an answer was lost, what would bring it back, and what that would cost."""
