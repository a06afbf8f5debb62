package import SwiftSyntaxMacros

/// Sluice's macros, by the names of their types.
package enum MacroTypes {
    /// The type that expands a macro; nil if there is none with this name.
    package static func named(_ name: String) -> (any Macro.Type)? {
        switch name {
        case "ModelMacro": ModelMacro.self
        case "InverseMacro": InverseMacro.self
        case "PropertyMarkerMacro": PropertyMarkerMacro.self
        default: nil
        }
    }
}
