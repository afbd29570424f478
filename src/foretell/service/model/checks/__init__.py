"""What is wrong with a request, said in sentences."""
