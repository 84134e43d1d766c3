"""Logs of a training, whatever wrote them, as a stream of steps in bounded memory."""
