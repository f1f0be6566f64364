"""The glossary: explains terms of stages, facts, passes and tuning."""
