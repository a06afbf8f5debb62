internal import Glibc
internal import SluiceModel
internal import SluiceRules

/// `sluice rules`: reads, checks, tests and compares files of rules.
struct RulesCommand: Command {
    static let description = CommandDescription(
        "rules",
        "Work on rules, which say what users may see and do: check, test, diff, deploy, show, history, rollback.",
        arguments: [
            ArgumentDescription(
                "ACTION", "check, test, diff, deploy, show, history or rollback",
                completion: .choices(Action.allCases.map(\.rawValue))),
            ArgumentDescription(
                "FILE|URL", "the file of rules (check, test, diff); the database (all others)", completion: .files),
            ArgumentDescription("FILE", "the file of rules (deploy)", completion: .files, isOptional: true),
        ],
        options: [
            .value(
                "schema", "FILE", "the classes: what 'sluice schema URL --format=jsonl' prints (check, test)",
                completion: .files),
            .value("table", "FILE", "what users may do with some objects (test)", completion: .files),
            .value("to", "FILE", "the other file of rules (diff)", completion: .files),
            .value("version", "N", "the rules that were stored as the Nth (show, rollback)"),
            .flag("dry-run", "store nothing, and print what would change (deploy, rollback)"),
            .flag("strict", "store nothing and fail where there are warnings (deploy, rollback)"),
            .flag("create", "make the database if it is not there (deploy)"),
            .flag("all", "store the file in each database of --data; URL then names a server alone (deploy)"),
            .value(
                "data", "DIR", "the server's folder, which says what databases it has (--all)", completion: .directories
            ),
        ] + ServerAccess.options,
        notes: [
            "check prints how each rule is shared between users, which writes it depends on, and which index is missing. Without --schema it checks only what is independent of the classes.",
            "test compares what the rules say with a table, and fails if anything differs. diff prints what means something else in the other file: + is new, - is gone, ~ has changed.",
            "deploy stores the file in a database, where it holds from then on for everybody who is connected, and prints what it changes. You need the right 'rules' of the rules that hold so far. show prints these, history lists the last 100 versions with when and by whom they were stored, and rollback stores one of them again.",
            "docs/permissions.md describes the files.",
        ],
        examples: [
            "sluice schema ws://127.0.0.1:9080/nyc --format=jsonl > schema.json",
            "sluice rules check rules.json --schema=schema.json",
            "sluice rules test rules.json --schema=schema.json --table=table.json",
            "sluice rules diff rules.json --to=new-rules.json",
            "sluice rules deploy wss://db.example.com:9443/app new-rules.json --dry-run --user=root",
            "sluice rules deploy wss://db.example.com:9443 new-rules.json --strict --all --data=./data --user=root",
            "sluice rules rollback wss://db.example.com:9443/app --version=3 --user=root",
        ])

    private enum Action: String, CaseIterable {
        case check, test, diff, deploy, show, history, rollback

        /// Whether it is about what a server has.
        var isOfServer: Bool {
            switch self {
            case .check, .test, .diff: false
            case .deploy, .show, .history, .rollback: true
            }
        }
    }

    private let action: Action
    private let path: String
    private let schemaPath: String?
    private let tablePath: String?
    private let otherPath: String?
    /// What is done at a server.
    private let body: (@Sendable () async throws -> Void)?

    init(_ arguments: ParsedArguments) throws(CommandError) {
        guard let action = Action(rawValue: arguments.positionals[0]) else {
            throw .usage("there is no action '\(DisplayText.shortened(arguments.positionals[0]))'")
        }
        self.action = action
        path = arguments.positionals[1]
        schemaPath = arguments.value("schema")
        tablePath = arguments.value("table")
        otherPath = arguments.value("to")
        let file = arguments.positionals.count > 2 ? arguments.positionals[2] : nil
        guard file == nil || action == .deploy else {
            throw .usage(
                "rules \(action.rawValue) takes one argument, and '\(DisplayText.shortened(file ?? ""))' is a second")
        }
        let users: [(String, [Action])] =
            [
                ("table", [.test]), ("to", [.diff]), ("schema", [.check, .test]), ("dry-run", [.deploy, .rollback]),
                ("strict", [.deploy, .rollback]), ("version", [.show, .rollback]), ("all", [.deploy]),
                ("data", [.deploy]), ("create", [.deploy]),
            ] + ServerAccess.options.map { ($0.name, Action.allCases.filter(\.isOfServer)) }
        for (name, actions) in users where arguments.has(name) {
            guard actions.contains(action) else { throw .usage("rules \(action.rawValue) takes no --\(name)") }
        }
        body = action.isOfServer ? try Self.body(of: action, file, arguments) : nil
        switch action {
        case .check, .deploy, .show, .history, .rollback: break
        case .test:
            guard schemaPath != nil else { throw .usage("--schema=FILE is missing: the classes") }
            guard tablePath != nil else { throw .usage("--table=FILE is missing: what users may do") }
        case .diff: guard otherPath != nil else { throw .usage("--to=FILE is missing: the other file of rules") }
        }
    }

    /// What an action does at a server.
    private static func body(
        of action: Action, _ file: String?, _ arguments: ParsedArguments
    ) throws(CommandError) -> @Sendable () async throws -> Void {
        let version = try version(arguments)
        let targets = try RulesTarget.targets(arguments)
        guard !arguments.flag("create") || !arguments.flag("all") else {
            throw .usage("--create is for one database, and --all for those that are there; leave out one of them")
        }
        let target = targets[0]
        let source: RulesDeployment.Source
        switch action {
        case .deploy:
            guard let file else { throw .usage("FILE is missing: the file of rules to store") }
            source = .file(file)
        case .rollback:
            guard let version else {
                throw .usage("--version=N is missing: which rules to store again; 'sluice rules history' lists them")
            }
            source = .version(version)
        case .check, .test, .diff, .show, .history:
            let isHistory = action == .history
            return {
                let reading = RulesReading(access: target.access)
                if isHistory { try await reading.history() } else { try await reading.show(version) }
            }
        }
        let deployment = RulesDeployment(
            targets: targets, source: source, isTrial: arguments.flag("dry-run"), isStrict: arguments.flag("strict"),
            makesDatabase: arguments.flag("create"))
        return { try await deployment.run() }
    }

    private static func version(_ arguments: ParsedArguments) throws(CommandError) -> Int? {
        guard let text = arguments.value("version") else { return nil }
        guard let version = Int(text), version > 0 else {
            throw .usage("--version is a whole number above 0, and '\(DisplayText.shortened(text))' is none")
        }
        return version
    }

    func run() async throws {
        if let body { return try await body() }
        let file = try Self.rules(path)
        switch action {
        case .deploy, .show, .history, .rollback: break
        case .check: try check(file)
        case .test: try test(file)
        case .diff:
            for difference in try file.differences(to: Self.rules(otherPath ?? "")) {
                StandardOutput.shared.write(line: DisplayText.harmless("\(difference)"))
            }
        }
    }

    private func check(_ file: RulesFile) throws {
        guard let schemaPath else {
            return StandardOutput.shared.write(
                line: "the file is well formed; --schema=FILE also checks the names of classes and properties")
        }
        let schema = try Self.schema(schemaPath)
        try Self.refuse(file.problems(with: schema), in: path)
        for report in file.report(schema: schema) {
            for line in report.lines { StandardOutput.shared.write(line: DisplayText.harmless(line)) }
        }
    }

    private func test(_ file: RulesFile) throws {
        let schema = try Self.schema(schemaPath ?? "")
        try Self.refuse(file.problems(with: schema), in: path)
        let table = try RulesTable(RulesFile.bytes(of: tablePath ?? ""), rules: Rules(file, schema: schema))
        let failures = try table.failures()
        for failure in failures { StandardOutput.shared.write(line: DisplayText.harmless(failure)) }
        guard failures.isEmpty else {
            let count = failures.count(where: RulesTable.isOfTest)
            throw CommandError.failure("\(count) of \(table.count) tests failed")
        }
        StandardOutput.shared.write(line: GroupedNumber.text(table.count, "test") + " passed")
    }

    // MARK: Files

    private static func rules(_ path: String) throws -> RulesFile {
        let bytes = try RulesFile.bytes(of: path)
        do throws(RulesError) { return try RulesFile(bytes) } catch {
            try refuse(error.problems, in: path)
            throw error
        }
    }

    private static func schema(_ path: String) throws(CommandError) -> Schema {
        let bytes = try RulesFile.bytes(of: path)
        do throws(SchemaFileError) { return try SchemaFile.schema(bytes) } catch {
            throw .failure("\(path): \(error.message)")
        }
    }

    /// Reports problems, one a line, and fails if there are any.
    private static func refuse(_ problems: [RulesProblem], in path: String) throws(CommandError) {
        guard let last = problems.last else { return }
        for problem in problems.dropLast() { Diagnostics.report(problem.line(inFile: path)) }
        throw .failure(last.line(inFile: path))
    }
}

extension RulesFile {
    /// The bytes of a file that is not too large to be one of rules, or about them.
    static func bytes(of path: String) throws(CommandError) -> [UInt8] {
        let source = try ByteSource(path: path)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= SchemaFile.byteCountMax {
            var count = 0
            var failure: CommandError?
            buffer.withUnsafeMutableBytes { buffer in
                do throws(CommandError) { count = try source.read(into: buffer) } catch { failure = error }
            }
            if let failure { throw failure }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
        throw .failure("\(path): it is longer than \(SchemaFile.byteCountMax) bytes")
    }
}

extension RuleReport {
    /// The report for people.
    fileprivate var lines: [String] {
        var lines = ["\(place): \(sharing)"]
        if atoms.count > 1 || atoms.contains(where: { !$0.isFoundByValue }) {
            for atom in atoms {
                let cost = atom.isFoundByValue ? "found by value" : "judged for each who differs"
                lines.append("  \(atom.text): \(atom.sharing); \(cost)")
            }
        }
        if !reads.isEmpty { lines.append("  changes with \(reads.joined(separator: ", "))") }
        for name in missingIndexes { lines.append("  an index on \(name) would serve it") }
        return lines
    }
}
