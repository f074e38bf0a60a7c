"""A custom agent in a plain Gymnasium loop: a few rules that look a flight up and book it."""

import re

import gymnasium as gym


class RuleAgent:
    def act(self, observation, info):
        request, heard = observation[1]["content"], observation[-1]["content"]
        route = re.search(r"from (\w+) to (\w+),? (?:on )?(\d+ June)", request)
        mark = re.search(r"\d\d:\d\d|EUR \d+|non-stop|1 stop", request)
        if "booked" in heard:
            return '<tool_call>{"name": "finish", "arguments": {"message": "Your flight is booked."}}</tool_call>'
        if mark and (row := re.search(rf"^.*{mark[0]}.* (\w+)$", heard, re.MULTILINE)):
            return f'<tool_call>{{"name": "book_flight", "arguments": {{"flight_id": "{row[1]}"}}}}</tool_call>'
        if route and "<tool_response>" not in heard:
            trip = f'"origin": "{route[1]}", "destination": "{route[2]}", "date": "{route[3]}"'
            return f'<tool_call>{{"name": "search_flights", "arguments": {{{trip}}}}}</tool_call>'
        return "Could you tell me more, please?"


env, agent, successes = gym.make("slmagent:SLMAgent/Booking-v0", level=1), RuleAgent(), 0
for seed in range(50):
    observation, info = env.reset(seed=seed)
    done = False
    while not done:
        observation, reward, terminated, truncated, info = env.step(agent.act(observation, info))
        done = terminated or truncated
    successes += info["success"]
print(f"{successes} of 50 customers served")
