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

    /// Reads a problem as ``description`` has it.
    ///
    /// - Returns: nil if the text is none.
    package init?(_ description: String) {
        var rest = description[...]
        func number(after word: String) -> Int? {
            guard rest.hasPrefix(word) else { return nil }
            let digits = rest.dropFirst(word.count).prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(word.count + digits.count)
            return Int(digits)
        }
        guard let line = number(after: "line "), let column = number(after: ", column ") else { return nil }
        var place = ""
        if rest.hasPrefix(", in ") {
            place = String(rest.dropFirst(5).prefix { $0 != ":" })
            rest = rest.dropFirst(5 + place.count)
        }
        guard rest.hasPrefix(": ") else { return nil }
        self.init(line: line, column: column, place: place, message: String(rest.dropFirst(2)))
    }

    /// The problem as compilers write it: `rules.json:2:23: classes.Document.read: …`.
    package func line(inFile path: String) -> String {
        "\(path):\(line):\(column):" + (place.isEmpty ? "" : " \(place):") + " \(message)"
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
