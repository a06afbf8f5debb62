import SluiceModel

@testable import SluiceQuery

extension QuerySyntax {
    /// Whether the query has figures instead of results.
    var computes: Bool {
        clauses.contains { clause in
            switch clause {
            case .aggregate, .group: true
            default: false
            }
        }
    }
}

extension NaiveInterpreter {
    /// The columns of all groups of a query with AGGREGATE, in its order and within its limit.
    ///
    /// - Parameter types: the type of what each function works on; nil for a count.
    func figures(_ syntax: QuerySyntax, ofClass classIndex: Int, _ types: [ScalarType?]) -> [[Value]] {
        let objects = world.rows.keys.filter { $0.classIndex == classIndex && holds(syntax.predicate, root($0)) }
        var groups: [PathSyntax] = []
        var functions: [PathSyntax] = []
        var order: [QuerySyntax.SortSyntax] = []
        var limit = Int.max
        for clause in syntax.clauses {
            switch clause {
            case .group(let paths, _): groups += paths.filter { path in !groups.contains { same($0, path) } }
            case .aggregate(let paths, _): functions += paths.filter { path in !functions.contains { same($0, path) } }
            case .sort(let keys, _): order = keys + order
            case .limit(let count, _): limit = min(limit, count)
            default: break
            }
        }
        groups = groups.enumerated().filter { at, path in !groups.prefix(at).contains { same($0, path) } }.map(
            \.element)
        functions = functions.enumerated()
            .filter { at, path in !functions.prefix(at).contains { same($0, path) } }.map(\.element)
        var members: [(keys: [Value], objects: [ObjectRef])] = groups.isEmpty ? [([], [])] : []
        for object in objects {
            let keys = groups.map { single($0, root(object)) }
            if let place = members.firstIndex(where: { $0.keys == keys }) {
                members[place].objects.append(object)
            } else {
                members.append((keys, [object]))
            }
        }
        let rows = members.map { keys, objects in
            keys
                + zip(functions, types).map { function, type in
                    guard let type, case .operation(let name) = function.components[0].kind else {
                        return Value.int(Int64(objects.count))
                    }
                    let path = PathSyntax(Array(function.components.dropFirst()))
                    return NaiveNumbers.aggregate(name, objects.map { single(path, root($0)) }, .scalar(type))
                }
        }
        let columns = groups + functions
        var keys: [(column: Int, isAscending: Bool)] = []
        for key in order {
            guard let column = columns.firstIndex(where: { same($0, key.path) }) else { continue }
            keys.append((column, key.isAscending))
        }
        keys += groups.indices.map { ($0, true) }
        let sorted = rows.sorted { left, right in
            for (column, isAscending) in keys where left[column] != right[column] {
                // What has no order, such as two links, is told apart by nothing else.
                if left[column] < right[column] { return isAscending }
                if right[column] < left[column] { return !isAscending }
            }
            return false
        }
        return Array(sorted.prefix(limit))
    }

    private func same(_ left: PathSyntax, _ right: PathSyntax) -> Bool {
        func names(_ path: PathSyntax) -> [String] {
            path.components.map { component in
                if case .named("FIRST") = component.kind {
                    "\(PathSyntax.Component.Kind.index(0))"
                } else {
                    "\(component.kind)"
                }
            }
        }
        return names(left) == names(right)
    }
}
