//! JSON literals in Rust.

/// A [`Value`](crate::json::Value) written as JSON, with expressions where values may stand: any that `serde` can write. Keys
/// are literals or expressions in parentheses. It is used by the name `json::json`.
#[doc(hidden)]
#[macro_export]
macro_rules! json_value {
    // An array: `@array [done,] rest…`
    (@array [$($done:expr,)*]) => { vec![$($done,)*] };
    (@array [$($done:expr),*]) => { vec![$($done),*] };
    (@array [$($done:expr,)*] null $($rest:tt)*) => {
        $crate::json_value!(@array [$($done,)* $crate::json_value!(null)] $($rest)*)
    };
    (@array [$($done:expr,)*] [$($array:tt)*] $($rest:tt)*) => {
        $crate::json_value!(@array [$($done,)* $crate::json_value!([$($array)*])] $($rest)*)
    };
    (@array [$($done:expr,)*] {$($object:tt)*} $($rest:tt)*) => {
        $crate::json_value!(@array [$($done,)* $crate::json_value!({$($object)*})] $($rest)*)
    };
    (@array [$($done:expr,)*] $next:expr, $($rest:tt)*) => {
        $crate::json_value!(@array [$($done,)* $crate::json_value!($next),] $($rest)*)
    };
    (@array [$($done:expr,)*] $last:expr) => {
        $crate::json_value!(@array [$($done,)* $crate::json_value!($last)])
    };
    (@array [$($done:expr),*] , $($rest:tt)*) => {
        $crate::json_value!(@array [$($done,)*] $($rest)*)
    };

    // An object: `@object map (key so far) (rest…)`
    (@object $object:ident () ()) => {};
    (@object $object:ident [$($key:tt)+] ($value:expr) , $($rest:tt)*) => {
        let _ = $object.insert(($($key)+).into(), $value);
        $crate::json_value!(@object $object () ($($rest)*));
    };
    (@object $object:ident [$($key:tt)+] ($value:expr)) => {
        let _ = $object.insert(($($key)+).into(), $value);
    };
    (@object $object:ident ($($key:tt)+) (: null $($rest:tt)*)) => {
        $crate::json_value!(@object $object [$($key)+] ($crate::json_value!(null)) $($rest)*);
    };
    (@object $object:ident ($($key:tt)+) (: [$($array:tt)*] $($rest:tt)*)) => {
        $crate::json_value!(@object $object [$($key)+] ($crate::json_value!([$($array)*])) $($rest)*);
    };
    (@object $object:ident ($($key:tt)+) (: {$($map:tt)*} $($rest:tt)*)) => {
        $crate::json_value!(@object $object [$($key)+] ($crate::json_value!({$($map)*})) $($rest)*);
    };
    (@object $object:ident ($($key:tt)+) (: $value:expr , $($rest:tt)*)) => {
        $crate::json_value!(@object $object [$($key)+] ($crate::json_value!($value)) , $($rest)*);
    };
    (@object $object:ident ($($key:tt)+) (: $value:expr)) => {
        $crate::json_value!(@object $object [$($key)+] ($crate::json_value!($value)));
    };
    (@object $object:ident () (($key:expr) : $($rest:tt)*)) => {
        $crate::json_value!(@object $object ($key) (: $($rest)*));
    };
    (@object $object:ident ($($key:tt)*) ($next:tt $($rest:tt)*)) => {
        $crate::json_value!(@object $object ($($key)* $next) ($($rest)*));
    };

    (null) => { $crate::json::Value::Null };
    (true) => { $crate::json::Value::Bool(true) };
    (false) => { $crate::json::Value::Bool(false) };
    ([]) => { $crate::json::Value::Array(vec![]) };
    ([$($array:tt)+]) => { $crate::json::Value::Array($crate::json_value!(@array [] $($array)+)) };
    ({}) => { $crate::json::Value::Object($crate::json::Map::new()) };
    ({$($map:tt)+}) => {
        $crate::json::Value::Object({
            let mut object = $crate::json::Map::new();
            $crate::json_value!(@object object () ($($map)+));
            object
        })
    };
    ($other:expr) => { $crate::json::to_value(&$other).expect("what stands in json! can be written as JSON") };
}
