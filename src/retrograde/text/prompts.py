"""What language models are told, as data: every prompt of this package by name, a template with places in braces."""

PROMPTS = {
    # How sums, splits and joins introduce the feedback that they hand back.
    "combined": "Here is the combined feedback we got for this specific {role} and other variables: {feedback}",
    # One answer that went wrong, for the variables that the conversation was made of.
    "case": "Conversation:\n{conversation}\nAnswer:\n{answer}\nWhat was wrong with the answer:\n{feedback}",
    "feedback_system": (
        "You improve systems made of language models. You are shown a part of such a system, what it led to, and what was "
        "wrong with that. Say how this part, and only this part, should change. Be specific and short. Speak of what "
        "the cases have in common; do not copy their contents. Do not write the new version."
    ),
    "feedback": (
        "The part is the {role}. It reads:\n<PART>\n{value}\n</PART>\n\nIt was used in these cases:\n\n{cases}\n\n"
        "How should the {role} change, so that such answers come out right?"
    ),
    # A critique as a loss.
    "judge_system": "You judge answers strictly and fairly. You reply with one JSON object and nothing else.",
    "judge": (
        "Judge this {role} by these criteria: {criteria}\n\n{context}<ANSWER>\n{answer}\n</ANSWER>\n\n"
        'Reply with JSON: {"score": a number from 0 (useless) to 1 (perfect), "critique": what is wrong with the answer and how '
        "it should change; empty if nothing is}"
    ),
    "judge_target": "The right answer, for comparison:\n<TARGET>\n{target}\n</TARGET>\n\n",
    # What an optimizer asks for.
    "rewrite_system": (
        "You improve texts from feedback. You reply with the new text between <NEW> and </NEW>, and nothing else. Do not copy "
        "examples from the feedback into the text; say what they have in common. Do not repeat what the text says already."
    ),
    "rewrite": (
        "The text is the {role}:\n<TEXT>\n{value}\n</TEXT>\n\nFeedback on it:\n{feedback}\n\n{momentum}{rejected}{constraints}"
        "Write an improved {role} between <NEW> and </NEW>."
    ),
    "patch_system": (
        "You improve texts from feedback by small edits. You reply with edits and nothing else, each as\n"
        "<FIND>words that stand in the text exactly once</FIND><REPLACE>what to put there</REPLACE>\n"
        "To add at the end, leave FIND empty. Do not copy examples from the feedback into the text."
    ),
    "patch": (
        "The text is the {role}:\n<TEXT>\n{value}\n</TEXT>\n\nFeedback on it:\n{feedback}\n\n{momentum}{rejected}{constraints}"
        "Write edits that improve the {role}."
    ),
    "momentum": "Earlier versions, with the feedback that each received:\n{history}\n\n",
    "rejected": "These versions were tried and did worse; write something else:\n{rejected}\n\n",
    "constraints": "The new text must keep to these rules:\n{rules}\n\n",
    "complaint": "Your last reply could not be used: {fault}. Reply again, in the form that was asked for.",
    # What a number says to a text: the derivative of a loss in what the text led to.
    "label": (
        'the label "{better}" should be likelier, and "{worse}" less likely; their probabilities were {p_better} and {p_worse} '
        "(the loss falls by {gain} for each unit of the log-probability of \"{better}\")"
    ),
    "embedding": "the loss would change by {change} if all of this text counted for more{words}",
    "lower_score": "a lower score is wanted here (derivative of the loss: {derivative}); now: {explanation}",
}
