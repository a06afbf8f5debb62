internal import SwiftDiagnostics
internal import SwiftParser
internal import SwiftSyntax
internal import SwiftSyntaxMacros

/// What a struct under `@Model` declares, checked.
struct ModelDeclaration {
    let typeName: String
    /// The class's name in schemas and queries.
    let className: String
    /// Whether the class does not sync.
    let isLocal: Bool
    let access: AccessLevel
    let properties: [DeclaredProperty]
    let inverses: [DeclaredInverse]
    let hasOwnInitializer: Bool

    var isKeyed: Bool { properties.contains(where: \.isPrimaryKey) }

    /// Reads a declaration; nil when it cannot be a model, after saying why.
    ///
    /// - Parameter lexicalContext: the declarations around it, innermost first.
    init?(
        _ declaration: some DeclGroupSyntax, attribute: AttributeSyntax, in lexicalContext: [Syntax],
        reportingTo context: (any MacroExpansionContext)?
    ) {
        var reporter = Reporter(context: context)
        guard let structure = declaration.as(StructDeclSyntax.self) else {
            reporter.report(Self.notAStruct(declaration, attribute))
            return nil
        }
        if let generics = structure.genericParameterClause {
            reporter.report(.error("generic", "a model cannot be generic: a store has one class a name", at: generics))
        }
        typeName = structure.name.trimmedDescription
        isLocal = Self.isLocal(attribute, reportingTo: &reporter)
        let givenName = Self.name(in: attribute, reportingTo: &reporter)
        className = givenName?.text ?? structure.name.identifier?.name ?? structure.name.text
        NameRule.check(className, of: .class, at: givenName?.node ?? Syntax(structure.name), &reporter)
        access = AccessLevel(structure.modifiers, in: lexicalContext)
        properties = structure.memberBlock.members.flatMap { member in
            member.decl.as(VariableDeclSyntax.self).map { DeclaredProperty.all(in: $0, reportingTo: &reporter) } ?? []
        }
        inverses = structure.memberBlock.members.compactMap { member in
            member.decl.as(VariableDeclSyntax.self).flatMap(DeclaredInverse.init)
        }
        hasOwnInitializer = structure.memberBlock.members.contains { $0.decl.is(InitializerDeclSyntax.self) }
        checkPrimaryKeys(reportingTo: &reporter)
        checkNames(reportingTo: &reporter)
        Self.checkMembers(of: structure, reportingTo: &reporter)
        if reporter.hasErrors { return nil }
    }

    private func checkPrimaryKeys(reportingTo reporter: inout Reporter) {
        let keys = properties.filter(\.isPrimaryKey)
        for key in keys.dropFirst() {
            guard let mark = key.primaryKeyMark else { continue }
            reporter.report(
                .error(
                    "secondPrimaryKey",
                    "\(className) already has the primary key '\(keys[0].name)'; a class has one at most", at: mark))
        }
    }

    private static func notAStruct(_ declaration: some DeclGroupSyntax, _ attribute: AttributeSyntax) -> Diagnostic {
        var fixIts: [FixIt] = []
        if let type = declaration.as(ClassDeclSyntax.self) {
            let keyword = type.classKeyword
            fixIts = [
                .replace("make it a struct", keyword, with: keyword.with(\.tokenKind, .keyword(.struct)))
            ]
        }
        return .error(
            "notAStruct", "@Model goes on a struct: objects are values that do not change under their reader",
            at: attribute, fixIts: fixIts)
    }

    private static func name(
        in attribute: AttributeSyntax, reportingTo reporter: inout Reporter
    ) -> (text: String, node: Syntax)? {
        guard let argument = attribute.firstArgument, Self.syncing(argument) == nil else { return nil }
        guard let literal = argument.as(StringLiteralExprSyntax.self), let name = literal.representedLiteralValue
        else {
            reporter.report(.error("computedName", "the class's name must be a plain string literal", at: argument))
            return nil
        }
        return (name, Syntax(argument))
    }
}

extension ModelDeclaration {
    /// The case of `ModelSyncing` that an argument of the attribute names; nil for anything else.
    private static func syncing(_ argument: ExprSyntax) -> String? {
        guard let member = argument.as(MemberAccessExprSyntax.self), member.declName.argumentNames == nil else {
            return nil
        }
        return member.declName.baseName.text
    }

    private static func isLocal(_ attribute: AttributeSyntax, reportingTo reporter: inout Reporter) -> Bool {
        guard case .argumentList(let list) = attribute.arguments, let argument = list.last?.expression,
            list.count == 2 || syncing(argument) != nil
        else { return false }
        switch syncing(argument) {
        case "local": return true
        case "synced": return false
        default:
            reporter.report(
                .error(
                    "computedSyncing", "whether the class syncs must be written here: .local or .synced", at: argument))
            return false
        }
    }
}

/// Passes diagnostics on, and remembers whether one was an error.
struct Reporter {
    let context: (any MacroExpansionContext)?
    private(set) var hasErrors = false

    init(context: (any MacroExpansionContext)?) {
        self.context = context
    }

    mutating func report(_ diagnostic: Diagnostic) {
        hasErrors = true
        context?.diagnose(diagnostic)
    }
}
