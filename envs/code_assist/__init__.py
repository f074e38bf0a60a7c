"""SLMAgent/CodeAssist: programming tasks with a sandbox behind them."""
