"""Two processes at once, and kills, through the adapters of frameworks. That of CrewAI is in test_crewai.py."""

import pytest

import writer
from processes import two_processes_write

FRAMEWORKS = [
    writer.LangChain,
    writer.OpenAIAgents,
    writer.GoogleADK,
    writer.LlamaIndex,
    writer.AgentFramework,
    writer.PydanticAI,
    writer.Strands,
]


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_two_processes_write_to_one_conversation_while_leaders_are_killed(fresh_cluster, framework):
    two_processes_write(fresh_cluster, framework)
