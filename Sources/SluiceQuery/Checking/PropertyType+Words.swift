internal import SluiceModel

extension PropertyType {
    /// The type as messages show it: `optional int`, `a list of links to Owner`.
    var inWords: String {
        let many: String
        switch element {
        case .scalar(let type):
            let own = (isOptional ? "optional " : "") + type.rawValue
            if container == .single { return own }
            many = own
        case .link(let target):
            if container == .single { return "a link to \(target)" }
            many = "links to \(target)"
        }
        return "a \(container.rawValue) of \(many)"
    }
}
