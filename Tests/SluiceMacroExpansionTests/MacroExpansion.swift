import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

@testable import SluiceMacroExpansion

/// The result of expanding a piece of source: the new source, the messages as `line:column message`, and the fix-its.
struct MacroExpansion {
    let source: String
    let messages: [String]
    let fixIts: [String]
    /// The source after the first fix-it.
    let fixed: String?

    init(_ text: String) {
        let file = Parser.parse(source: text)
        let context = BasicMacroExpansionContext(
            sourceFiles: [file: .init(moduleName: "Test", fullFilePath: "Test.swift")])
        var macros = ["Model": MacroSpec(type: ModelMacro.self, conformances: ["Sluice.Model"])]
        for name in ["PrimaryKey", "Indexed", "Ignored", "Property"] {
            macros[name] = MacroSpec(type: PropertyMarkerMacro.self)
        }
        macros["Inverse"] = MacroSpec(type: InverseMacro.self)
        source =
            file.expand(
                macroSpecs: macros,
                contextGenerator: { syntax in
                    BasicMacroExpansionContext(sharingWith: context, lexicalContext: syntax.allMacroLexicalContexts())
                }
            ).description
        messages = context.diagnostics.map { diagnostic in
            let location = context.location(
                for: diagnostic.position, anchoredAt: diagnostic.node, fileName: "Test.swift")
            return "\(location.line):\(location.column) \(diagnostic.message)"
        }
        fixIts = context.diagnostics.flatMap { $0.fixIts.map(\.message.message) }
        fixed = context.diagnostics.first?.fixIts.first?.changes.first.flatMap { change in
            guard case .replace(let old, let new) = change else { return nil }
            return text.replacing(old.trimmedDescription, with: new.trimmedDescription, maxReplacements: 1)
        }
    }
}
