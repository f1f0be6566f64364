"""The glossary: what each term of the stages, facts and passes means."""
