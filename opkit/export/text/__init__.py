"""Text: a traced kernel as code of a framework. What numpy's functions are called there is one module per framework."""
