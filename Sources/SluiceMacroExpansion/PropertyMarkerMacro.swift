internal import SwiftSyntax
internal import SwiftSyntaxMacros

/// `@PrimaryKey`, `@Indexed`, `@Ignored` and `@Property`: marks that ``ModelMacro`` reads and that expand to nothing.
struct PropertyMarkerMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        let name = node.attributeName.trimmedDescription
        guard let variable = declaration.as(VariableDeclSyntax.self), !variable.isStatic, variable.isStored else {
            context.diagnose(.error("misplacedMarker", "@\(name) belongs on a stored property of a model", at: node))
            return []
        }
        return []
    }
}
