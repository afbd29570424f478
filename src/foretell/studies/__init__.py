"""What we claim: studies, the claims they decide, and their report."""
