"""AutoMem's recall, release by release."""
