internal import Sluice
internal import SluiceExchange
internal import SluiceJSON
internal import SluiceRules

/// `sluice rules deploy` and `rollback`: stores rules in databases, or says what they would change.
struct RulesDeployment: Sendable {
    /// Where the rules come from.
    enum Source: Sendable {
        case file(String)
        /// An earlier version of the database itself.
        case version(Int)

        /// What messages call the rules.
        var name: String {
            switch self {
            case .file(let path): path
            case .version(let version): "version \(version)"
            }
        }
    }

    let targets: [RulesTarget]
    let source: Source
    let isTrial: Bool
    /// Whether nothing is stored, in no database, where there are warnings.
    let isStrict: Bool
    /// Whether a database that is not there is made.
    let makesDatabase: Bool

    /// What the server says of a deployment.
    private struct Answer {
        let report: JSONValue
        let version: String
        /// One line each.
        let warnings: [String]

        init(_ report: JSONValue, of name: String) {
            self.report = report
            version = report["version"]?.text ?? "0"
            var warnings = (report["warnings"]?.array ?? []).map { RulesDeployment.line($0.string ?? "", name) }
            if report["mayDeploy"] == .bool(false) {
                warnings.append(
                    "\(name): it does not give you the right 'rules', without which you cannot store others later")
            }
            self.warnings = warnings
        }
    }

    func run() async throws {
        Signals.exitQuietly()
        if isTrial || isStrict {
            let count = try await deploy(isTrial: true)
            guard count == 0 || !isStrict else {
                throw CommandError.failure(
                    "\(source.name): \(GroupedNumber.text(count, "warning")), and --strict")
            }
        }
        if !isTrial { _ = try await deploy(isTrial: false) }
    }

    /// Stores the rules in each database, or has each say what they would change. Where one of several fails, the others
    /// are done all the same.
    ///
    /// - Returns: the number of warnings.
    private func deploy(isTrial: Bool) async throws -> Int {
        var (warningCount, failureCount) = (0, 0)
        for target in targets {
            do {
                let answer = try await answer(of: target, isTrial: isTrial)
                warningCount += answer.warnings.count
                if isTrial == self.isTrial || !answer.warnings.isEmpty { tell(answer, of: target, isTrial: isTrial) }
            } catch  where targets.count > 1 {
                failureCount += 1
                Diagnostics.report("\(target.prefix)\(CommandError(error).message)")
            }
        }
        guard failureCount == 0 else {
            throw CommandError.failure(
                "\(failureCount) of \(targets.count) databases "
                    + (isTrial ? "would not take the rules, so nothing is stored" : "have not taken the rules"))
        }
        return warningCount
    }

    private func tell(_ answer: Answer, of target: RulesTarget, isTrial: Bool) {
        for change in answer.report["changes"]?.array ?? [] {
            StandardOutput.shared.write(line: target.prefix + Self.line(change))
        }
        for warning in answer.warnings { Diagnostics.report(target.prefix + warning) }
        let version = answer.version
        let outcome =
            if isTrial {
                "nothing is stored" + (version == "0" ? "" : "; version \(version) holds")
            } else if answer.report["isNew"] == .bool(true) {
                "version \(version) holds now"
            } else {
                "version \(version) is the same"
            }
        Diagnostics.report(target.prefix + outcome)
    }

    /// - Throws: ``CommandError`` with the last problem of rules that the server refuses; the others are reported.
    private func answer(of target: RulesTarget, isTrial: Bool) async throws -> Answer {
        let timeout = target.access.timeout
        let store: Store
        do {
            store = try await target.access.open(isTrial ? .readOnly : .readWrite, makesDatabase: makesDatabase)
        } catch let error as SyncError where error.code == .unknownDatabase {
            // Those of --all are there, and an earlier version is of a database that is.
            guard case .file = source, target.name == nil else { throw error }
            let hint = error.message.hasSuffix("?") ? " --create makes this one" : "; --create makes it"
            throw CommandError.failure(error.message + hint)
        }
        do {
            let bytes =
                switch source {
                case .file(let path): try RulesFile.bytes(of: path)
                case .version(let version): Array(try await RulesReading.file(of: store, version, timeout).utf8)
                }
            let text = try await store.core.deploy(rules: bytes, isTrial: isTrial, timeout: timeout)
            await store.close()
            return Answer(try RulesReport.parsed(text), of: source.name)
        } catch {
            await store.close()
            guard let refusal = error as? SyncError, refusal.code == .invalidRules else { throw error }
            let lines = refusal.message.split(separator: "\n").map { Self.line(String($0), source.name) }
            for line in lines.dropLast() { Diagnostics.report(target.prefix + line) }
            throw CommandError.failure(lines.last ?? "\(source.name): the server refuses it")
        }
    }

    /// A problem with its place in the file, as `sluice rules check` prints it.
    private static func line(_ problem: String, _ path: String) -> String {
        RulesProblem(problem)?.line(inFile: path) ?? "\(path): \(problem)"
    }

    /// A change as `sluice rules diff` prints it.
    private static func line(_ change: JSONValue) -> String {
        let place = change["place"]?.string ?? ""
        let line =
            switch (change["before"]?.string, change["after"]?.string) {
            case (nil, let after?): "+ \(place): \(after)"
            case (let before?, nil): "- \(place): \(before)"
            case (let before, let after): "~ \(place): \(before ?? "") → \(after ?? "")"
            }
        return DisplayText.harmless(line)
    }
}

/// What a server reports about rules.
enum RulesReport {
    static func parsed(_ report: String) throws(CommandError) -> JSONValue {
        do throws(JSONError) { return try JSONParser.parse(report) } catch {
            throw .failure("the server's report is not JSON at byte \(error.position): \(error.message)")
        }
    }
}
