internal import SluiceModel

/// What errors say of names that the store does not have, and what helps.
enum MissingNames {
    static func text(class className: String) -> String {
        "the store has no class '\(className)'; open it with the class's model, or declare the class"
    }

    static func text(property: String, of className: String) -> String {
        "the store's class '\(className)' has no property '\(property)'; open the store with a model that has it"
    }
}
