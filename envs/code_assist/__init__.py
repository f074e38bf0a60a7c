"""SLMAgent/CodeAssist: programming tasks with a sandbox behind them."""

from slmagent.envs.code_assist.env import CodeAssistEnv

__all__ = ["CodeAssistEnv"]
