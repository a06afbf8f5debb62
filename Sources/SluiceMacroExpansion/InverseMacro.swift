internal import SwiftSyntax
internal import SwiftSyntaxBuilder
internal import SwiftSyntaxMacros

/// `@Inverse(\Car.owners)`: makes a property computed, by looking up the links that lead to the object.
struct InverseMacro: AccessorMacro {
    static func expansion(
        of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let variable = declaration.as(VariableDeclSyntax.self), !variable.isStatic, variable.isStored,
            variable.bindingSpecifier.tokenKind == .keyword(.var), variable.bindings.count == 1,
            let binding = variable.bindings.first, binding.typeAnnotation != nil, binding.initializer == nil
        else {
            context.diagnose(
                .error(
                    "misplacedInverse",
                    "@Inverse belongs on a 'var' of a model with the type Backlinks<…> and without a value", at: node))
            return []
        }
        guard let path = node.firstArgument, path.is(KeyPathExprSyntax.self) else {
            context.diagnose(
                .error(
                    "inverseWithoutPath",
                    "@Inverse takes the property that links here, such as \\Car.owners, written as a key path", at: node
                ))
            return []
        }
        return ["get { Sluice.Backlinks(of: self, through: \(path.trimmed)) }"]
    }
}

/// One inverse relationship of a model, as its source declares it.
struct DeclaredInverse {
    let syntax: Syntax
    let name: String
    /// The property's name in queries.
    let queryName: String
    /// The key path of the property that links, as source.
    let path: String

    /// - Returns: nil if the declaration is no inverse relationship, or not one that ``InverseMacro`` accepts.
    init?(_ variable: VariableDeclSyntax) {
        guard let path = variable.attribute(named: "Inverse")?.firstArgument, path.is(KeyPathExprSyntax.self),
            let pattern = variable.bindings.first?.pattern.as(IdentifierPatternSyntax.self)
        else { return nil }
        syntax = Syntax(pattern)
        name = pattern.identifier.trimmedDescription
        queryName = pattern.identifier.identifier?.name ?? name
        self.path = path.trimmedDescription
    }
}
