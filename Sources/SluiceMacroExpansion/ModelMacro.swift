internal import SwiftSyntax
internal import SwiftSyntaxBuilder
internal import SwiftSyntaxMacros

/// `@Model`: makes a struct a class of the store.
///
/// Adds the column table, positional decoding and encoding, the metadata that travels with a value, and a memberwise
/// initialiser unless the struct declares an initialiser itself.
struct ModelMacro {}

extension ModelMacro: MemberMacro {
    static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard
            let model = ModelDeclaration(
                declaration, attribute: node, in: context.lexicalContext, reportingTo: context)
        else { return [] }
        return ModelExpansion(model) { context.location(of: $0, at: .afterLeadingTrivia, filePathMode: .filePath) }
            .members
    }
}

extension ModelMacro: ExtensionMacro {
    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard !protocols.isEmpty, let structure = declaration.as(StructDeclSyntax.self),
            ModelDeclaration(declaration, attribute: node, in: context.lexicalContext, reportingTo: nil) != nil
        else { return [] }
        let missing = protocols.map(\.trimmedDescription)
        let lacksModel = missing.contains { $0.hasSuffix("Model") }
        if HiddenType.hides(structure, in: context.lexicalContext) {
            if lacksModel { context.diagnose(HiddenType.diagnostic(structure)) }
            return []
        }
        let shown = Self.printing.filter { name in missing.contains { $0.hasSuffix(name) } }
        let conformances = (lacksModel ? ["Sluice.Model"] : []) + shown.map { "nonisolated Swift.\($0)" }
        let syntax: DeclSyntax = "extension \(type.trimmed): \(raw: conformances.joined(separator: ", ")) {}"
        return syntax.as(ExtensionDeclSyntax.self).map { [$0] } ?? []
    }

    /// What `print` and `dump` ask of a value. `Model` has the members, and a model of the main actor's module conforms
    /// nonisolated.
    private static let printing = ["CustomStringConvertible", "CustomDebugStringConvertible", "CustomReflectable"]
}
