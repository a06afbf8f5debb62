import FoundationEssentials
import SluiceModel

@testable import SluiceQuery

extension NaiveInterpreter {
    func values(of syntax: ExpressionSyntax, _ scope: [Binding]) -> [Value] {
        switch syntax {
        case .literal(let literal): return [value(literal)]
        case .list(let literals, _, _): return literals.map(value)
        case .path(let path): return values(of: path, scope)
        case .arithmetic(let arithmetic):
            return values(of: arithmetic.left, scope).flatMap { left in
                values(of: arithmetic.right, scope).map { NaiveNumbers.compute(arithmetic.operation, left, $0) }
            }
        case .subquery(let subquery):
            var count: Int64 = 0
            for (object, classIndex) in objects(of: subquery.collection, scope) {
                let binding = Binding(name: subquery.variable, classIndex: classIndex, object: object)
                if holds(subquery.predicate, scope + [binding]) { count += 1 }
            }
            return [.int(count)]
        }
    }

    func value(_ literal: LiteralSyntax) -> Value {
        switch literal.kind {
        // Constants have no negative zero.
        case .value(.float(let number)): .float(number == 0 ? 0 : number)
        case .value(.double(let number)): .double(number == 0 ? 0 : number)
        case .value(let value): value
        case .number(let digits): Int64(digits).map { .int($0) } ?? .double(Double(digits)!)
        // Half a microsecond represents any fraction of one.
        case .instant(let date, _): .double(Double(date.microseconds) + 0.5)
        case .untyped(let text): .string(text)
        case .object(_, let key): .link(ObjectKey(primaryKey: key)!)
        case .member(_, let key): .link(key)
        case .now(let offset): .date(Timestamp(microseconds: world.now.microseconds + offset))
        case .variable: preconditionFailure("only rules have variables")
        }
    }

    func start(
        _ path: PathSyntax, _ scope: [Binding]
    ) -> (components: [PathSyntax.Component], binding: Binding) {
        guard case .variable(let name) = path.components.first?.kind else { return (path.components, scope[0]) }
        return (Array(path.components.dropFirst()), scope.last { $0.name == name }!)
    }

    private func objects(of path: PathSyntax, _ scope: [Binding]) -> [(ObjectRef, Int)] {
        let (components, binding) = start(path, scope)
        let target = PathPlan(components, from: binding.classIndex, schema).endClass
        return read(components[...], binding.object, binding.classIndex).compactMap { value in
            if case .link(let key) = value { (ObjectRef(target, key), target) } else { nil }
        }
    }

    func values(of path: PathSyntax, _ scope: [Binding]) -> [Value] {
        var (components, binding) = start(path, scope)
        let operation = components.firstIndex { component in
            guard case .operation(let name) = component.kind else { return false }
            return ["min", "max", "sum", "avg"].contains(name)
        }
        guard let operation, case .operation(let name) = components.remove(at: operation).kind else {
            return read(components[...], binding.object, binding.classIndex)
        }
        let plan = PathPlan(components, from: binding.classIndex, schema)
        return read(
            components[...], binding.object, binding.classIndex,
            aggregate: (name, plan.lastCollection!, plan.lastProperty!.type.element))
    }

    /// Every value of a path from an object, or from the end of a link that leads nowhere.
    private func read(
        _ components: ArraySlice<PathSyntax.Component>, _ object: ObjectRef?, _ classIndex: Int,
        aggregate: (name: String, collection: Int, element: PropertyType.Element)? = nil
    ) -> [Value] {
        if let aggregate, aggregate.collection == components.startIndex {
            let values = object == nil ? [] : read(components, object, classIndex)
            return [NaiveNumbers.aggregate(aggregate.name, values, aggregate.element)]
        }
        guard let component = components.first else { return [object.map { .link($0.key) } ?? .null] }
        let rest = components.dropFirst()
        switch component.kind {
        case .backlink(let name, let link):
            let owners = linking(to: object, name, link)
            if isCount(rest.first) { return [.int(Int64(owners.count))] }
            return owners.flatMap { read(rest, $0, $0.classIndex, aggregate: aggregate) }
        case .operation("links"):
            var count = 0
            for declared in schema.classes {
                for property in declared.properties where property.type.targetClass == schema[classIndex].name {
                    count += linking(to: object, declared.name, property.name).count
                }
            }
            return [.int(Int64(count))]
        case .property(let name):
            let property = schema[classIndex].index(of: name)!
            let declared = schema[classIndex].properties[property]
            let value = object.map { world.rows[$0]!.values[property] }
            return read(value, declared, rest, aggregate)
        default: return []
        }
    }

    private func read(
        _ value: Value?, _ declared: Property, _ rest: ArraySlice<PathSyntax.Component>,
        _ aggregate: (name: String, collection: Int, element: PropertyType.Element)?, readsAll: Bool = false
    ) -> [Value] {
        let target = declared.type.targetClass.flatMap(schema.index(of:))
        if !readsAll, let next = rest.first, PathPlan.isSelection(next, declared) {
            let selected = value.map { present(select(next, $0), declared) } ?? .null
            guard let target else { return [selected] }
            return read(rest.dropFirst(), reference(selected, target), target, aggregate: aggregate)
        }
        if isCount(rest.first) { return [count(value, declared)] }
        if let next = rest.first, declared.type.container == .map, Self.isAll(next) {
            return read(value, declared, rest.dropFirst(), aggregate, readsAll: true)
        }
        if declared.type.isCollection {
            let elements = value.map { self.elements($0) } ?? []
            guard let target else { return elements }
            return elements.compactMap { reference(present($0, declared), target) }
                .flatMap { read(rest, $0, target, aggregate: aggregate) }
        }
        guard let target else { return [value ?? .null] }
        return read(rest, reference(present(value ?? .null, declared), target), target, aggregate: aggregate)
    }

    private static func isAll(_ component: PathSyntax.Component) -> Bool {
        switch component.kind {
        case .operation("values"), .named("*"): true
        default: false
        }
    }

    private func reference(_ value: Value, _ target: Int) -> ObjectRef? {
        if case .link(let key) = value { ObjectRef(target, key) } else { nil }
    }

    private func linking(to object: ObjectRef?, _ className: String, _ property: String) -> [ObjectRef] {
        guard let object else { return [] }
        let classIndex = schema.index(of: className)!
        let position = schema[classIndex].index(of: property)!
        return world.rows.keys.filter { owner in
            guard owner.classIndex == classIndex else { return false }
            let value = world.rows[owner]!.values[position]
            return value == .link(object.key) || elements(value).contains(.link(object.key))
        }
    }

    func isCount(_ component: PathSyntax.Component?) -> Bool {
        switch component?.kind {
        case .operation("count"), .operation("size"), .named("SIZE"): true
        default: false
        }
    }

    private func count(_ value: Value?, _ declared: Property) -> Value {
        if declared.type.isCollection { return .int(Int64(value.map { elements($0).count } ?? 0)) }
        if declared.type.element.isLink { return .int(present(value ?? .null, declared).isNull ? 0 : 1) }
        return switch value {
        case .string(let text): .int(Int64(text.utf8.count))
        case .data(let bytes): .int(Int64(bytes.count))
        default: .null
        }
    }

    func select(_ component: PathSyntax.Component, _ value: Value) -> Value {
        let elements = elements(value)
        switch component.kind {
        case .index(let index): return elements.indices.contains(index) ? elements[index] : .null
        case .named("FIRST"): return elements.first ?? .null
        case .named("LAST"): return elements.last ?? .null
        case .key(let key), .property(let key):
            guard case .map(let map) = value else { return .null }
            return map.entries.first { Array($0.key.utf8) == Array(key.utf8) }?.value ?? .null
        default: return .null
        }
    }
}
