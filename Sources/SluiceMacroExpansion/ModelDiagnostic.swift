internal import SwiftDiagnostics
internal import SwiftSyntax

/// A message of the macro, with the identifier that tools match on.
struct ModelDiagnostic: DiagnosticMessage, FixItMessage {
    let message: String
    let identifier: String
    let severity: DiagnosticSeverity

    var diagnosticID: MessageID { MessageID(domain: "Sluice", id: identifier) }
    var fixItID: MessageID { diagnosticID }
}

extension Diagnostic {
    /// An error at a piece of source, with the edits that would correct it.
    static func error(
        _ identifier: String, _ message: String, at node: some SyntaxProtocol, fixIts: [FixIt] = []
    ) -> Diagnostic {
        Diagnostic(
            node: node, message: ModelDiagnostic(message: message, identifier: identifier, severity: .error),
            fixIts: fixIts)
    }
}

extension FixIt {
    /// Replaces one piece of source by another.
    static func replace(
        _ message: String, _ old: some SyntaxProtocol, with new: some SyntaxProtocol
    ) -> FixIt {
        FixIt(
            message: ModelDiagnostic(message: message, identifier: "fix", severity: .note),
            changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))])
    }
}
