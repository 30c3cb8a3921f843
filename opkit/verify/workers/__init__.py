"""Workers: the processes in which targets are loaded and checked."""
