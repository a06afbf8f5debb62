internal import SluiceExchange
internal import SluiceJSON

/// How the databases of a data folder are, as the server says that serves them.
struct DatabaseStates: Sendable {
    /// Whether a server serves the folder, and what it has said.
    enum Answer: Sendable {
        case noServer
        /// One that listens does not say it.
        case unknown
        /// The states by name. A database that the server has not been asked for is none of them.
        case known([String: String])
    }

    let answer: Answer

    /// Asks the server of a folder. Where one listens and does not answer, stderr says why.
    static func ask(serverAt folder: String, patience: Duration) async -> DatabaseStates {
        let client = AdminClient(folder, timeout: patience, mayWait: false)
        guard client.isServed else { return DatabaseStates(answer: .noServer) }
        do { return DatabaseStates(answer: .known(try parse(try await client.ask("GET", "/databases")))) } catch {
            Diagnostics.report("the states of the databases are unknown: \(error)")
            return DatabaseStates(answer: .unknown)
        }
    }

    /// - Throws: ``CommandError`` when a text is no answer of states.
    static func parse(_ text: String) throws(CommandError) -> [String: String] {
        guard let elements = (try? JSONParser.parse(text))?.array else {
            throw .failure("the server's answer has no states of databases")
        }
        var states: [String: String] = [:]
        for element in elements {
            guard let name = element["name"]?.string, let state = element["state"]?.string else { continue }
            states[name] = state
        }
        return states
    }

    /// The state of a database, in a word; nil where no server has it.
    func state(of name: String) -> String? {
        switch answer {
        case .noServer: nil
        case .unknown: "unknown"
        case .known(let states): states[name] ?? "closed"
        }
    }

    /// The databases that the server could not open.
    var failedNames: [String] {
        guard case .known(let states) = answer else { return [] }
        return states.filter { $0.value == "failed" }.map(\.key)
    }
}
