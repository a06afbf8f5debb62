internal import FoundationEssentials
internal import Glibc
internal import SluiceModel
internal import SluiceServer

/// The option that names the audit log: of `serve`, and of commands that change what a server has beside it.
enum AuditOptions {
    static let options: [OptionDescription] = [
        .value(
            "audit-log", "FILE", "where to append who has done what, one JSON object a line; nowhere by default",
            completion: .files)
    ]

    /// Opens the file, for a server.
    static func apply(_ arguments: ParsedArguments, to configuration: inout ServerConfiguration) throws(CommandError) {
        configuration.auditLog = try file(arguments, log: configuration.log)
    }

    /// The file that the arguments name; nil if they name none.
    static func file(_ arguments: ParsedArguments, log: LogSink? = nil) throws(CommandError) -> AuditFile? {
        guard let path = arguments.value("audit-log") else { return nil }
        do { return try AuditFile(path, log: log) } catch {
            throw .usage("--audit-log: \((error as? ServerError)?.message ?? "\(error)")")
        }
    }
}

extension AuditFile {
    /// Notes what a command has done, as the account that it runs as.
    func note(
        _ action: AuditEvent.Action, database: String? = nil, outcome: AuditEvent.Outcome = .done, reason: String? = nil
    ) {
        receive(
            AuditEvent(
                action, at: Timestamp(Date()), user: OperatorName.text(of: getuid()), database: database,
                outcome: outcome, reason: reason))
        flush()
    }
}
