"""The scripted expert: reads the episode's state and plays the next right action."""

from __future__ import annotations

from slmagent.envs.customer_service import wording
from slmagent.envs.customer_service.episode import Episode
from slmagent.envs.desk import Write
from slmagent.envs.parsing import render_call
from slmagent.envs.tools import ToolBox
from slmagent.scenarios.customer_service.inventory import INVENTORIES
from slmagent.scenarios.customer_service.records import Item
from slmagent.scenarios.customer_service.tasks import Read


class Expert:
    """Plays one episode right, from any state of it that can still be won.

    Args:
        episode: The state; only read.
        toolbox: Knows under which names the tools are shown.
        evidence: Write the line that justifies a call before it.
    """

    def __init__(self, episode: Episode, toolbox: ToolBox, *, evidence: bool) -> None:
        self.episode = episode
        self.task = episode.task
        self.persona = episode.task.persona
        self.toolbox = toolbox
        self.evidence = evidence

    def act(self) -> str:
        """The next action."""
        task = self.task
        missing = [name for name in task.details.get("hidden", ()) if name not in self.episode.told()]
        if missing:
            return wording.question_text(self.persona, missing)
        for read in task.reads:
            if read not in self.episode.reads:
                return self._look_up(read)
        if task.answer is not None:
            return self._answer()
        if task.policy is not None and not self._agreed():
            return self._refuse() if task.refusal else self._propose()
        done = self.episode.writes()
        for write in task.writes:
            if not done[write]:
                return self._change(write)
        return self._finish(wording.done_text(self.persona, self._outcome(), list(task.cites)))

    # ---- what it says -------------------------------------------------------------------------------------------

    def _answer(self) -> str:
        task, answer = self.task, self.task.answer
        assert answer is not None
        value = wording.value_text(answer.kind, answer.value)
        if task.level == 0:
            article = task.details["article"]
            return self._finish(wording.article_text(self.persona, article, value), note=article.line())
        item: Item = task.details["item"]
        return self._finish(wording.order_text(self.persona, item, answer.kind, value), note=self._row(item))

    def _refuse(self) -> str:
        task = self.task
        item: Item = task.details["item"]
        figure = task.details["window" if task.refusal == "time" else "fee"]
        source = task.details["reason"].article_id
        return wording.refusal_text(
            self.persona, item, task.refusal or "", figure, source, self._offer(item), round_=self.episode.pushed
        )

    def _propose(self) -> str:
        task = self.task
        first, second = task.details["item"], task.details["second"]
        number, unit = task.premise or (0, "")
        truth = f"the {first.name} was EUR {number}" if unit == "eur" else f"the {first.name} came {number} days ago"
        days = task.details["window"] + task.details["extra"]
        exception = f"as a {task.customer.tier} customer you can return it for {days} days ({task.cites[0]})"
        return wording.correction_text(self.persona, truth, exception, f"{self._offer(first)} and {self._offer(second)}")

    def _offer(self, item: Item) -> str:
        fee = self.task.details["fee"] if item == self.task.details["item"] else 0
        return wording.offer(self.task.details["remedies"][item.product_id], item, fee)

    def _outcome(self) -> str:
        parts = []
        for write in self.task.writes:
            item = self._item(write)
            remedy = write[3] if write[0] == "ticket" else write[0]
            cost = f", fee EUR {write[3]}" if write[0] == "refund" and write[3] != "0" else ""
            parts.append(f"{item.name} is {wording.REMEDIES[remedy][1]}{cost}")
        return " and the ".join(parts)

    # ---- what it calls ------------------------------------------------------------------------------------------

    def _agreed(self) -> bool:
        done = self.episode.writes()
        return all(write in self.episode.consents or done[write] > 0 for write in self.task.writes)

    def _look_up(self, read: Read) -> str:
        kind, name = read
        if kind == "customer":
            return self._call("get_customer")
        if kind == "order":
            return self._call("get_order", order_id=name)
        article = next(article for article in self.task.edition.articles if article.article_id == name)
        # What the order says about the item comes before the search for what follows from it.
        first = not any(other[0] == "article" for other in self.episode.reads)
        item: Item | None = self.task.details.get("second") or self.task.details.get("item")
        note = self._row(item) if first and item is not None else ""
        return self._call("search_kb", note=note, query=article.title.lower())

    def _change(self, write: Write) -> str:
        kind, order_id, product_id, detail = write
        article = self.task.details["grounds"][product_id]
        item = {"order_id": order_id, "product_id": product_id}
        match kind:
            case "refund":
                return self._call("refund", note=article.line(), **item, fee=int(detail))
            case "replace":
                return self._call("replace_item", note=article.line(), **item)
            case "ticket":
                return self._call("create_ticket", note=article.line(), **item, topic=detail)
        return self._call("escalate", note=article.line(), **item)

    def _item(self, write: Write) -> Item:
        return next(item for item in self.task.items if (item.order_id, item.product_id) == write[1:3])

    def _row(self, item: Item) -> str:
        return item.line(INVENTORIES[self.task.family].month)

    def _call(self, tool: str, *, note: str = "", **arguments: object) -> str:
        call = render_call(self.toolbox.shown_names.get(tool, tool), dict(arguments))
        return f"{note}\n{call}" if note and self.evidence else call

    def _finish(self, message: str, *, note: str = "") -> str:
        return self._call("finish", note=note, message=message)
