"""A server for a language model of `retrograde.models`, in the form of OpenAI's: `retrograde serve --model PATH`."""

from .application import application, serve
