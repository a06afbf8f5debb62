/// One thing that is wrong in a rules file.
package struct RulesProblem: Hashable, Sendable, CustomStringConvertible {
    /// The line and the column in it, counting from 1; columns are in characters.
    package let line: Int
    package let column: Int
    /// Where in the file's structure, such as `classes.Document.read`; empty for the whole file.
    package let place: String
    /// What was wrong and what would be right.
    package let message: String

    package init(line: Int, column: Int, place: String, message: String) {
        self.line = line
        self.column = column
        self.place = place
        self.message = message
    }

    package var description: String {
        "line \(line), column \(column)" + (place.isEmpty ? "" : ", in \(place)") + ": \(message)"
    }
}

/// Why a rules file was refused: all that is wrong in it, in the order of the text.
package struct RulesError: Error, Hashable, Sendable, CustomStringConvertible {
    package let problems: [RulesProblem]

    package init(_ problems: [RulesProblem]) { self.problems = problems }

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
