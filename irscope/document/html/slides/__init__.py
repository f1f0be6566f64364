"""Slides of a capture (talk.py) and of a lesson (lesson.py): one page that loads nothing else."""
