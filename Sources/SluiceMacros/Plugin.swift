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
        switch typeName {
        case "ModelMacro": return ModelMacro.self
        case "InverseMacro": return InverseMacro.self
        case "PropertyMarkerMacro": return PropertyMarkerMacro.self
        default: throw UnknownMacro(typeName: typeName)
        }
    }
}

/// The compiler asked for a macro that this plugin does not have.
struct UnknownMacro: Error, CustomStringConvertible {
    let typeName: String

    var description: String { "the Sluice macro plugin has no macro '\(typeName)'" }
}
