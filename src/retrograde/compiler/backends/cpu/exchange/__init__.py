"""How Python takes part in what the processes of a group tell each other through memory that all of them see."""

from .calls import Exchange, Status, exchange

__all__ = ["Exchange", "Status", "exchange"]
