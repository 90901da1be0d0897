"""The error of jobs."""


class JobError(Exception):
    """A job cannot go on, or its folder belongs to another job."""
