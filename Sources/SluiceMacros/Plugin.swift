internal import SluiceMacroExpansion
@_spi(PluginMessage) internal import SwiftCompilerPluginMessageHandling
internal import SwiftSyntaxMacros

/// The process that the compiler starts to expand Sluice's macros, speaking over standard input and output.
@main
struct Plugin: PluginProvider {
    static func main() throws {
        let connection = try StandardIOMessageConnection()
        try CompilerPluginMessageListener(connection: connection, provider: Self()).main()
    }

    func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
        guard let type = MacroTypes.named(typeName) else { throw UnknownMacro(typeName: typeName) }
        return type
    }
}

/// The compiler asked for a macro that this plugin does not have.
struct UnknownMacro: Error, CustomStringConvertible {
    let typeName: String

    var description: String { "the Sluice macro plugin has no macro '\(typeName)'" }
}
