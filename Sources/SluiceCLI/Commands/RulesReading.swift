internal import Sluice
internal import SluiceExchange
internal import SluiceJSON

/// `sluice rules show` and `history`: what rules a server has and had.
struct RulesReading {
    let access: ServerAccess

    /// Prints the rules that hold, or those of an earlier version.
    func show(_ version: Int?) async throws {
        Signals.exitQuietly()
        let store = try await access.open()
        let file = try await Self.file(of: store, version, access.timeout)
        await store.close()
        guard !file.isEmpty else { throw CommandError.failure("the database has no rules") }
        StandardOutput.shared.write(line: DisplayText.harmless(file))
    }

    /// Prints the versions that the server keeps, the last one first.
    func history() async throws {
        Signals.exitQuietly()
        let store = try await access.open()
        let text = try await store.core.report(.formerRules(#"{"history":true}"#), timeout: access.timeout)
        await store.close()
        guard let versions = try RulesReport.parsed(text)["history"]?.array else {
            throw CommandError.failure("the server is of a version that shows no history of rules")
        }
        for (index, entry) in versions.enumerated() {
            let same = entry["sameAs"].flatMap { $0 == .null ? nil : "the same as version \($0.text)" }
            let notes = [index == 0 ? "holds" : nil, same].compactMap { $0 }
            let columns = [
                entry["version"]?.text ?? "", entry["time"]?.string ?? "time not known", Self.author(of: entry),
                "\(entry["bytes"]?.text ?? "0") bytes", notes.joined(separator: ", "),
            ]
            let line = columns.filter { !$0.isEmpty }.map(DisplayText.harmless).joined(separator: "\t")
            StandardOutput.shared.write(line: line)
        }
    }

    /// Who has stored a version, in words.
    static func author(of entry: JSONValue) -> String {
        let author: String
        switch entry["cause"]?.string {
        case "file"?: author = "the server's file"
        case "reload"?: author = "the server's file, read again"
        case "client"?: author = entry["user"]?.string.map { "user \($0)" } ?? "nobody in particular"
        // A server of before, or a version that was stored by one.
        default: return "author not known"
        }
        return entry["server"]?.string.map { "\(author), at \($0)" } ?? author
    }

    /// The text of the rules that a server has.
    ///
    /// - Parameter version: nil for those that hold.
    static func file(of store: Store, _ version: Int?, _ timeout: Duration) async throws -> String {
        let topic = version.map { ReportTopic.formerRules(#"{"version":\#($0)}"#) } ?? .rules
        let report = try RulesReport.parsed(try await store.core.report(topic, timeout: timeout))
        // A server that knows no versions answers with those that hold.
        if let version, report["version"]?.text != "\(version)" {
            throw CommandError.failure("the server is of a version that shows only the rules that hold")
        }
        return report["file"]?.string ?? ""
    }
}
