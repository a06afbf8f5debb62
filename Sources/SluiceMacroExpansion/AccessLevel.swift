internal import SwiftSyntax

/// How widely a declaration is visible, narrowest first.
enum AccessLevel: Int, Comparable {
    case `fileprivate`, `internal`, `package`, `public`

    /// The level that modifiers state; those of a setter do not count. Private counts as file-private, which is what
    /// generated members beside it need. Without any, it is the one that the extension around the declaration states.
    init(_ modifiers: DeclModifierListSyntax, in lexicalContext: [Syntax] = []) {
        let outer = lexicalContext.first?.as(ExtensionDeclSyntax.self)?.modifiers
        self = outer.map { AccessLevel($0) } ?? .internal
        for modifier in modifiers where modifier.detail == nil {
            switch modifier.name.tokenKind {
            case .keyword(.public): self = .public
            case .keyword(.package): self = .package
            case .keyword(.private), .keyword(.fileprivate): self = .fileprivate
            default: continue
            }
        }
    }

    /// The modifier with a trailing space; empty where none is needed.
    var prefix: String { self == .internal ? "" : "\(self) " }

    static func < (left: AccessLevel, right: AccessLevel) -> Bool { left.rawValue < right.rawValue }
}
