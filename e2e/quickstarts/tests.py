"""Tests of pages.py."""

import unittest

import pages


class Pages(unittest.TestCase):
    def test_commands_follow_their_marks(self):
        page = "```sh\na\n```\n```sh source\nb\n```\n```sh server dist\nc\n```\n```sh\n# Not tested: d\n```\n```text\ne\n```\n"
        commands = [block for block in pages.blocks(page) if block.command]
        self.assertEqual([(block.line, block.text, block.server) for block in commands], [(2, "a\n", False), (8, "c\n", True)])

    def test_output_belongs_to_its_command(self):
        found = pages.blocks("```sh\na\n```\n\n```text output\nb\n```\n\n```text\nc\n```\n")
        self.assertEqual([block.expected for block in found], ["b\n", None])

    def test_first_line_names_a_file(self):
        page = "```python\n# test_demo.py\n```\n```javascript\n// a.b.mjs\n```\n```go\n// A comment.\n```\n```sh\n# a.sh\n```\n"
        self.assertEqual([block.file for block in pages.blocks(page)], ["test_demo.py", "a.b.mjs", None, None])

    def test_ellipsis_matches_any_text(self):
        self.assertTrue(pages.matches("a …\n…\nz\n", "a 1\nb\nc\nz\n"))
        self.assertTrue(pages.matches("a\n…\n", "a  \n"))

    def test_other_output_does_not_match(self):
        for actual in ("", "b\n", "a\nb\n", "aa\n"):
            self.assertFalse(pages.matches("a\n", actual), actual)


if __name__ == "__main__":
    unittest.main()
