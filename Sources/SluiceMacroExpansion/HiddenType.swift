internal import SwiftDiagnostics
internal import SwiftSyntax

/// A struct that an extension cannot reach, since it, or a type around it, is private to a type. `@Model` cannot add its
/// conformance then.
enum HiddenType {
    /// Whether a struct is hidden from the rest of its file.
    static func hides(_ structure: StructDeclSyntax, in lexicalContext: [Syntax]) -> Bool {
        // What is private at the top of a file is visible in all of it.
        ([Syntax(structure)] + lexicalContext).dropLast().contains { declaration in
            guard !declaration.is(ExtensionDeclSyntax.self) else { return false }
            return privateKeyword(of: declaration) != nil
        }
    }

    private static func privateKeyword(of declaration: Syntax) -> TokenSyntax? {
        let modifiers = declaration.asProtocol((any WithModifiersSyntax).self)?.modifiers
        return modifiers?.first { $0.name.tokenKind == .keyword(.private) }?.name
    }

    static func diagnostic(_ structure: StructDeclSyntax) -> Diagnostic {
        let name = structure.name.trimmedDescription
        let clause = structure.inheritanceClause?.inheritedTypes.trimmedDescription
        let conforming = "\(name): Model" + (clause.map { ", \($0)" } ?? "")
        let keyword = privateKeyword(of: Syntax(structure))
        return .error(
            "hiddenType",
            "@Model cannot make \(name) a model from outside, where it is private: write 'struct \(conforming)'"
                + (keyword == nil ? "" : ", or make it fileprivate"),
            at: keyword ?? structure.name,
            fixIts: keyword.map { keyword in
                let visible = keyword.with(\.tokenKind, .keyword(.fileprivate))
                return [.replace("make it fileprivate", keyword, with: visible)]
            } ?? [])
    }
}
