internal import SwiftParser
internal import SwiftSyntax

/// The names that `@Property` gives: `@Property("name", was: "before", "and before that")`.
struct PropertyNames {
    /// A name, and where it stands.
    struct Name {
        let text: String
        let node: Syntax
    }

    /// The name in schemas and queries; nil where the Swift name is.
    private(set) var name: Name?
    private(set) var formerNames: [Name] = []

    /// Reads a property's attribute, and reports what is no name.
    init(_ attribute: AttributeSyntax?, reportingTo reporter: inout Reporter) {
        guard case .argumentList(let arguments)? = attribute?.arguments else { return }
        var isFormer = false
        for argument in arguments {
            isFormer = isFormer || argument.label?.text == "was"
            guard let text = argument.expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue else {
                if argument.expression.is(NilLiteralExprSyntax.self), !isFormer { continue }
                reporter.report(
                    .error(
                        "computedName", "the property's name must be a plain string literal", at: argument.expression))
                continue
            }
            let name = Name(text: text, node: Syntax(argument.expression))
            if isFormer { formerNames.append(name) } else { self.name = name }
        }
        for former in formerNames { NameRule.check(former.text, of: .former, at: former.node, &reporter) }
    }
}
