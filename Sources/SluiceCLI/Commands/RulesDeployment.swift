internal import Sluice
internal import SluiceJSON
internal import SluiceRules

/// `sluice rules deploy` and `show`: what a server holds of rules.
struct RulesDeployment {
    let access: ServerAccess
    /// The file to store; nil to show what is stored.
    let path: String?
    let isTrial: Bool

    func run() async throws {
        Signals.exitQuietly()
        guard let path else { return try await show() }
        let bytes = try RulesFile.bytes(of: path)
        let store = try await access.open(isTrial ? .readOnly : .readWrite)
        let report = try await parsed(
            store.core.deploy(rules: bytes, isTrial: isTrial, timeout: access.timeout))
        await store.close()
        for change in report["changes"]?.array ?? [] { print(Self.line(change)) }
        let version = report["version"]?.text ?? "0"
        for warning in report["warnings"]?.array ?? [] {
            Diagnostics.report("\(path): \(DisplayText.harmless(warning.string ?? ""))")
        }
        if report["mayDeploy"] == .bool(false) {
            Diagnostics.report(
                "\(path): it does not give you the right 'rules', without which you cannot store others later")
        }
        if isTrial {
            Diagnostics.report("nothing is stored" + (version == "0" ? "" : "; version \(version) holds"))
        } else {
            Diagnostics.report(
                report["isNew"] == .bool(true) ? "version \(version) holds now" : "version \(version) is the same")
        }
    }

    private func show() async throws {
        let store = try await access.open()
        let report = try await parsed(store.core.report(.rules, timeout: access.timeout))
        await store.close()
        guard let file = report["file"]?.string, !file.isEmpty else {
            throw CommandError.failure("the database has no rules")
        }
        print(DisplayText.harmless(file))
    }

    private func parsed(_ report: String) throws -> JSONValue {
        do throws(JSONError) { return try JSONParser.parse(report) } catch {
            throw CommandError.failure("the server's report is not JSON at byte \(error.position): \(error.message)")
        }
    }

    private func print(_ line: String) { StandardOutput.shared.write(line: line) }

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
