internal import SluiceExchange
internal import SluiceJSON

/// Prints the server's reports: as JSON, with one line for each element of an array, or as tables.
enum ReportPrinter {
    static func print(_ text: String, format: OutputFormat, to output: StandardOutput = .shared) throws {
        let report: JSONValue
        do throws(JSONError) {
            report = try JSONParser.parse(text)
        } catch {
            throw CommandError.failure("the server's report is not JSON at byte \(error.position): \(error.message)")
        }
        print(report, format: format, to: output)
    }

    static func print(_ elements: [JSONValue], format: OutputFormat) {
        print(.array(elements), format: format, to: .shared)
    }

    private static func print(_ report: JSONValue, format: OutputFormat, to output: StandardOutput) {
        for line in lines(report, format: format) { output.append(Array((line + "\n").utf8)) }
        output.flush()
    }

    /// The text of a member of a report; nil if the report is not an object, or if it has no such member of text.
    static func text(_ name: String, of report: String) -> String? {
        guard case .object(let members) = try? JSONParser.parse(report),
            case .string(let text) = members.first(where: { $0.name == name })?.value
        else { return nil }
        return text
    }

    static func lines(_ report: JSONValue, format: OutputFormat) -> [String] {
        switch (report, format) {
        case (.array(let elements), .jsonl): elements.map(\.text)
        case (_, .jsonl): [report.text]
        case (.array(let elements), .table): table(elements)
        case (.object(let members), .table): members.flatMap(description)
        case (_, .table): [plain(report)]
        }
    }

    private static func description(_ member: JSONValue.Member) -> [String] {
        guard case .array(let elements) = member.value else { return ["\(member.name): \(plain(member.value))"] }
        return ["\(member.name):"] + table(elements).map { "  \($0)" }
    }

    private static func table(_ elements: [JSONValue]) -> [String] {
        guard case .object(let members) = elements.first else {
            return elements.isEmpty ? ["none"] : elements.map(plain)
        }
        let columns = members.map { member in
            let isNumeric = if case .integer = member.value { true } else { false }
            return TableRenderer.Column(title: member.name, isNumeric: isNumeric)
        }
        let rows = elements.map { element -> [String] in
            guard case .object(let members) = element else { return columns.map { _ in "" } }
            return columns.map { column in members.first { $0.name == column.title }.map { plain($0.value) } ?? "" }
        }
        return TableRenderer(columns: columns, width: Terminal.width).lines(rows)
    }

    private static func plain(_ value: JSONValue) -> String {
        if case .string(let text) = value { text } else { value.text }
    }
}
