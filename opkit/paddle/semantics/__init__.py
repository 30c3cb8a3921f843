"""What only Paddle means: layers of graphs, files; framework-free rows know none of it."""
